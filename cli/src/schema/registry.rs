//! `pmcp schema resolve` and `pmcp schema cache`: schemas of registries.

use std::path::PathBuf;
use std::{env, fs};

use protomcp_bsr::SchemaRef;
use protomcp_bsr::registry::{Credentials, DiskCache, ModuleVersion, Resolver};
use tokio::runtime;

use super::files::{print_schema, unwritable};
use crate::args::schema::{Cache, Resolve};
use crate::exit::{self, Failure};

/// Looks up a reference.
pub(super) fn resolve(options: &Resolve) -> Result<(), Failure> {
    let mut builder = Resolver::builder().credentials(credentials());
    for host in &options.registries {
        builder = builder.allow(host.clone());
    }
    if !options.no_cache
        && let Some(folder) = folder()
    {
        builder = builder.disk(folder, DiskCache::DEFAULT_LIMIT);
    }
    let resolver = builder.build();
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    runtime.block_on(print(&resolver, options))
}

async fn print(resolver: &Resolver, options: &Resolve) -> Result<(), Failure> {
    let reference: &SchemaRef = &options.reference;
    let message = resolver.resolve(reference).await.map_err(|error| Failure::failed(error.to_string()))?;
    if let Some(path) = &options.out {
        let key = ModuleVersion::from(reference);
        let schema = resolver.schema(&key).await.map_err(|error| Failure::failed(error.to_string()))?;
        fs::write(path, schema.bytes()).map_err(|error| unwritable(path, &error))?;
    }
    print_schema(&message)
}

/// Prints or empties the folder of schemas.
pub(super) fn cache(options: &Cache) -> Result<(), Failure> {
    let folder =
        folder().ok_or_else(|| Failure::failed("there is no folder for caches: set XDG_CACHE_HOME or HOME"))?;
    let disk = DiskCache::new(folder, DiskCache::DEFAULT_LIMIT);
    let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", disk.folder().display()));
    if options.clear {
        let deleted = disk.clear().map_err(failed)?;
        return exit::print(&format!("{deleted} schemas deleted\n"));
    }
    let (count, bytes) = disk.usage().map_err(failed)?;
    exit::print(&format!("{}\n{count} schemas, {bytes} bytes\n", disk.folder().display()))
}

/// The folder for schemas, as the XDG Base Directory Specification places it.
fn folder() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(caches.join("protomcp").join("schemas"))
}

/// The tokens of `BUF_TOKEN` and netrc.
fn credentials() -> Credentials {
    let mut credentials = Credentials::anonymous();
    if let Ok(token) = env::var("BUF_TOKEN") {
        credentials = credentials.buf_token(&token);
    }
    let netrc = env::var_os("NETRC").map(PathBuf::from);
    let netrc = netrc.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".netrc")));
    if let Some(Ok(text)) = netrc.map(fs::read_to_string) {
        credentials = credentials.netrc(&text);
    }
    credentials
}
