//! Schema registries: the way to them, and the messages of tools behind their references. A process has one resolver, so
//! that it keeps to its rate towards a registry.

use std::env;
use std::io::ErrorKind;
use std::path::PathBuf;

use protomcp_bufmcp::DescriptorSchemas;
use protomcp_descriptors::registry::{Credentials, DiskCache, Endpoint, Resolver, ResolverBuilder};

use crate::args::registry::{Registry, RegistryFlags, RegistryPins};
use crate::text_file::{read_bounded, without_mark};

/// The resolver of this process, if registries are named.
pub(crate) fn resolver(flags: &RegistryFlags) -> Option<Resolver> {
    let is_named = !flags.registries.is_empty();
    is_named.then(|| on_disk(builder(&flags.registries, &flags.pins)).build())
}

/// The messages of tools, with references if there is a resolver.
pub(crate) fn schemas(resolver: Option<&Resolver>) -> DescriptorSchemas {
    let schemas = DescriptorSchemas::new();
    match resolver {
        Some(resolver) => schemas.resolver(resolver.clone()),
        None => schemas,
    }
}

/// A resolver for these registries with these keys, and no others.
pub(crate) fn builder(registries: &[Registry], pins: &RegistryPins) -> ResolverBuilder {
    let all = registries.iter().cloned();
    all.fold(Resolver::builder().credentials(credentials()), |builder, Registry { host, address }| {
        let pinned = Endpoint::new().pins(pins.of(&host));
        builder.allow_at(host, address.into_iter().fold(pinned, Endpoint::address))
    })
}

/// Keeps schemas on disk, where there is a folder for them.
pub(crate) fn on_disk(builder: ResolverBuilder) -> ResolverBuilder {
    match folder() {
        Some(folder) => builder.disk(folder, DiskCache::DEFAULT_LIMIT),
        None => builder,
    }
}

/// The folder for schemas, as the XDG Base Directory Specification places it.
pub(crate) fn folder() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(caches.join("protomcp").join("schemas"))
}

/// The longest netrc file, in bytes.
const MAX_NETRC: u64 = 1 << 20;

/// The tokens of `BUF_TOKEN` and netrc.
fn credentials() -> Credentials {
    let mut credentials = Credentials::anonymous();
    if let Ok(token) = env::var("BUF_TOKEN") {
        credentials = credentials.buf_token(&token);
    }
    let netrc = env::var_os("NETRC").map(PathBuf::from);
    let netrc = netrc.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".netrc")));
    let Some(path) = netrc else { return credentials };
    match read_bounded(&path, MAX_NETRC, "a netrc file") {
        Ok(text) => credentials.netrc(without_mark(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => credentials,
        Err(error) => {
            tracing::warn!("{} is not used: {error}", path.display());
            credentials
        }
    }
}
