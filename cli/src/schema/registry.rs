//! `pmcp schema resolve` and `pmcp schema cache`: schemas of registries.

use std::fs;

use protomcp_descriptors::registry::{DiskCache, ModuleVersion, Resolver};
use protomcp_descriptors::{MessageType, SchemaRef};
use tokio::runtime;

use super::files::{print_schema, unwritable};
use crate::args::schema::{Cache, Resolve};
use crate::exit::{self, Failure};
use crate::registries;
use crate::waiting;

/// Looks up a reference.
pub(super) fn resolve(options: &Resolve) -> Result<(), Failure> {
    options.pins.check(&options.registries)?;
    let builder = registries::builder(&options.registries, &options.pins);
    let resolver = if options.no_cache { builder } else { registries::on_disk(builder) }.build();
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let found = runtime.block_on(waiting::shown("asking the registry", look_up(&resolver, options)))?;
    print_schema(&found)
}

async fn look_up(resolver: &Resolver, options: &Resolve) -> Result<MessageType, Failure> {
    let reference: &SchemaRef = &options.reference;
    let message = resolver.resolve(reference).await.map_err(|error| Failure::failed(error.to_string()))?;
    if let Some(path) = &options.out {
        let key = ModuleVersion::from(reference);
        let schema = resolver.schema(&key).await.map_err(|error| Failure::failed(error.to_string()))?;
        fs::write(path, schema.bytes()).map_err(|error| unwritable(path, &error))?;
    }
    Ok(message)
}

/// Prints or empties the folder of schemas.
pub(super) fn cache(options: &Cache) -> Result<(), Failure> {
    let folder = registries::folder()
        .ok_or_else(|| Failure::failed("there is no folder for caches: set XDG_CACHE_HOME or HOME"))?;
    let disk = DiskCache::new(folder, DiskCache::DEFAULT_LIMIT);
    let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", disk.folder().display()));
    if options.clear {
        let deleted = disk.clear().map_err(failed)?;
        return exit::print(&format!("{deleted} schemas deleted\n"));
    }
    let (count, bytes) = disk.usage().map_err(failed)?;
    exit::print(&format!("{}\n{count} schemas, {bytes} bytes\n", disk.folder().display()))
}
