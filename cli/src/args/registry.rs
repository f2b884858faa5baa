//! The flags for schema registries.

use std::net::SocketAddr;
use std::str::FromStr;

use clap::Args;
use protomcp_descriptors::Host;

/// The registries that may be asked.
#[derive(Debug, Args)]
pub(crate) struct RegistryFlags {
    /// Look up references of tools in this schema registry, for proto-mcp; HOST=ADDRESS:PORT if it is reached at another
    /// address; may be repeated [default: none is asked]
    #[arg(long = "registry", value_name = "HOST")]
    pub(crate) registries: Vec<Registry>,
}

/// A registry, and its address if that is not port 443 of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registry {
    pub(crate) host: Host,
    pub(crate) address: Option<SocketAddr>,
}

impl FromStr for Registry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, address) = match text.split_once('=') {
            Some((host, address)) => (host, Some(address)),
            None => (text, None),
        };
        let host = host.parse::<Host>().map_err(|error| error.to_string())?;
        let address = address.map(|address| address.parse().map_err(|_| expected(address))).transpose()?;
        Ok(Self { host, address })
    }
}

fn expected(address: &str) -> String {
    format!("\"{address}\" is not an address with a port, such as 127.0.0.1:8443")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_may_have_its_own_address() {
        let read = |text: &str| text.parse::<Registry>().map(|read| (read.host.to_string(), read.address));
        assert_eq!(read("buf.build"), Ok(("buf.build".to_owned(), None)));
        let address = Some("127.0.0.1:8443".parse().unwrap());
        assert_eq!(read("registry.test=127.0.0.1:8443"), Ok(("registry.test".to_owned(), address)));
        for wrong in ["", "localhost", "buf.build:443", "buf.build=", "buf.build=localhost:1", "buf.build=127.0.0.1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
