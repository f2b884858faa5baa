//! The alternative names of a certificate (RFC 5280, section 4.2.1.6), which name a client.

use super::der::{SEQUENCE, element};

/// The identifier of the extension, 2.5.29.17.
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// Tags: of the extensions, and of the kinds of names that are read.
const EXTENSIONS: u8 = 0xa3;
const OBJECT_IDENTIFIER: u8 = 0x06;
const BOOLEAN: u8 = 0x01;
const OCTET_STRING: u8 = 0x04;
const EMAIL: u8 = 0x81;
const DNS: u8 = 0x82;
const URI: u8 = 0x86;

/// Names that are longer are not read.
const MAX_NAME: usize = 1024;

/// The most names that are read.
const MAX_NAMES: usize = 64;

/// The names of a DER certificate in their order: DNS names, URIs and mail addresses. Empty if there are none, or the
/// certificate is malformed.
pub(super) fn of(certificate: &[u8]) -> Vec<&str> {
    extension(certificate).map(names).unwrap_or_default()
}

/// The content of the extension.
fn extension(certificate: &[u8]) -> Option<&[u8]> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut body, _) = element(certificate)?;
    let extensions = loop {
        let (tag, content, rest) = element(body)?;
        if tag == EXTENSIONS {
            break content;
        }
        body = rest;
    };
    let (SEQUENCE, mut extensions, _) = element(extensions)? else { return None };
    loop {
        let (_, extension, rest) = element(extensions)?;
        extensions = rest;
        let (OBJECT_IDENTIFIER, identifier, mut value) = element(extension)? else { return None };
        if identifier != SUBJECT_ALT_NAME {
            continue;
        }
        // It may be marked as critical.
        if let Some((BOOLEAN, _, rest)) = element(value) {
            value = rest;
        }
        let (OCTET_STRING, value, _) = element(value)? else { return None };
        let (SEQUENCE, names, _) = element(value)? else { return None };
        return Some(names);
    }
}

fn names(mut list: &[u8]) -> Vec<&str> {
    let mut found = Vec::new();
    while let Some((tag, name, rest)) = element(list) {
        list = rest;
        let text = std::str::from_utf8(name).ok().filter(|name| {
            !name.is_empty() && name.len() <= MAX_NAME && !name.contains(|c: char| c.is_control() || c.is_whitespace())
        });
        if let (EMAIL | DNS | URI, Some(name)) = (tag, text)
            && found.len() < MAX_NAMES
        {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType};

    use super::*;

    fn certificate(names: Vec<SanType>) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn names_are_read_in_their_order() {
        let dns = |name: &str| SanType::DnsName(name.try_into().unwrap());
        let uri = |name: &str| SanType::URI(name.try_into().unwrap());
        let mail = |name: &str| SanType::Rfc822Name(name.try_into().unwrap());
        let address = SanType::IpAddress("192.0.2.1".parse().unwrap());
        for (names, expected) in [
            (vec![], &[][..]),
            (vec![dns("a.example")], &["a.example"]),
            (
                vec![uri("spiffe://example/a"), address.clone(), dns("b.example"), mail("c@d.example")],
                &["spiffe://example/a", "b.example", "c@d.example"],
            ),
            (vec![address], &[]),
            (vec![dns("a b"), dns("c")], &["c"]),
        ] {
            assert_eq!(of(&certificate(names)), expected);
        }
    }

    #[test]
    fn cut_certificates_have_no_names() {
        let whole = certificate(vec![SanType::DnsName("a.example".try_into().unwrap())]);
        for end in 0..whole.len() {
            assert_eq!(of(&whole[..end]), [""; 0], "{end}");
        }
    }
}
