//! An authority, and certificates that it has signed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use crate::sandbox::Sandbox;

/// Writes `authority.pem`, and for this machine `cert.pem` with `key.pem`.
pub fn write(sandbox: &Sandbox) -> CertifiedIssuer<'static, KeyPair> {
    let issuer = authority(sandbox, "authority");
    sign(sandbox, &issuer, "", &["localhost"]);
    issuer
}

/// Writes an authority.
pub fn authority(sandbox: &Sandbox, name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let issuer = CertifiedIssuer::self_signed(params, key()).expect("an authority can be signed");
    sandbox.write(&format!("{name}.pem"), pem("CERTIFICATE", issuer.der()));
    issuer
}

/// Writes a certificate for these names, `NAME-cert.pem` with `NAME-key.pem`, or without a name `cert.pem` and `key.pem`.
pub fn sign(sandbox: &Sandbox, issuer: &CertifiedIssuer<'static, KeyPair>, name: &str, names: &[&str]) {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        .expect("the names are host names");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = key();
    let signed = params.signed_by(&key, issuer).expect("a certificate can be signed");
    let file = |what: &str| if name.is_empty() { format!("{what}.pem") } else { format!("{name}-{what}.pem") };
    sandbox.write(&file("cert"), pem("CERTIFICATE", signed.der()));
    sandbox.write(&file("key"), pem("PRIVATE KEY", &key.serialize_der()));
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key can be made")
}

fn pem(what: &str, der: &[u8]) -> Vec<u8> {
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", STANDARD.encode(der)).into_bytes()
}
