//! The flags for schema registries.

use std::net::SocketAddr;
use std::str::FromStr;

use clap::Args;
use protomcp_descriptors::Host;
use protomcp_descriptors::registry::Pin;

use crate::exit::Failure;

/// The registries that may be asked.
#[derive(Debug, Args)]
pub(crate) struct RegistryFlags {
    /// Look up references of tools in this schema registry, for proto-mcp; HOST=ADDRESS:PORT if it is reached at another
    /// address; may be repeated [default: none is asked]
    #[arg(long = "registry", value_name = "HOST")]
    pub(crate) registries: Vec<Registry>,

    #[command(flatten)]
    pub(crate) pins: RegistryPins,
}

/// The keys of registries that are expected.
#[derive(Debug, Args)]
pub(crate) struct RegistryPins {
    /// Refuse this registry unless its certificate has this public key, as the SHA-256 of its SubjectPublicKeyInfo in
    /// base64 (RFC 7469); may be repeated, also for one registry, whose key is replaced some day
    #[arg(long = "registry-pin", value_name = "HOST=PIN")]
    pins: Vec<RegistryPin>,
}

impl RegistryFlags {
    /// Refuses a pin for a registry that is not asked.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.pins.check(&self.registries)
    }
}

impl RegistryPins {
    /// Refuses a pin for a registry that is not one of these: the name of the one that it was meant for is mistyped.
    pub(crate) fn check(&self, registries: &[Registry]) -> Result<(), Failure> {
        let is_named = |pin: &RegistryPin| registries.iter().any(|registry| registry.host == pin.host);
        match self.pins.iter().find(|pin| !is_named(pin)) {
            Some(RegistryPin { host, .. }) => {
                Err(Failure::usage(format!("--registry-pin is for {host}, which no --registry names")))
            }
            None => Ok(()),
        }
    }

    /// The pins of a registry; any key is accepted without one.
    pub(crate) fn of(&self, host: &Host) -> impl Iterator<Item = Pin> {
        self.pins.iter().filter(move |pin| pin.host == *host).map(|pin| pin.pin)
    }
}

/// A key of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegistryPin {
    host: Host,
    pin: Pin,
}

impl FromStr for RegistryPin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, pin) = text.split_once('=').ok_or("expected HOST=PIN")?;
        let host = host.parse::<Host>().map_err(|error| error.to_string())?;
        let pin = pin.parse::<Pin>().map_err(|error| error.to_string())?;
        Ok(Self { host, pin })
    }
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
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        registry: RegistryFlags,
    }

    const PIN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    fn flags(words: &[String]) -> Option<RegistryFlags> {
        let words = std::iter::once("pmcp").chain(words.iter().map(String::as_str));
        Flags::try_parse_from(words).ok().map(|flags| flags.registry)
    }

    #[test]
    fn a_pin_belongs_to_its_registry() {
        let registry = "--registry=registry.test=127.0.0.1:8443".to_owned();
        let pin = |host: &str, pin: &str| format!("--registry-pin={host}={pin}");
        let twice = [registry.clone(), pin("registry.test", PIN), pin("registry.test", &format!("sha256/{PIN}"))];
        let read = flags(&twice).expect("both forms are read");
        assert!(read.check().is_ok());
        let of = |host: &str| read.pins.of(&host.parse().expect("a host")).collect::<Vec<_>>();
        assert_eq!((of("registry.test"), of("other.test").len()), (vec![PIN.parse().expect("a pin"); 2], 0));
        let stray = flags(&[registry, pin("registri.test", PIN)]).expect("it is read").check();
        let text = stray.expect_err("no registry has this name").to_string();
        assert!(text.contains("registri.test, which no --registry names"), "{text}");
        for wrong in [pin("registry.test", "AAAA"), pin("", PIN), format!("--registry-pin={PIN}")] {
            assert!(flags(std::slice::from_ref(&wrong)).is_none(), "{wrong}");
        }
    }

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
