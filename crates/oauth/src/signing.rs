//! Keys and signatures of a client: ES256, the algorithm that assertions of clients and proofs of possession share.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// The private key of an ES256 signature. Cloning is cheap.
#[derive(Clone)]
pub struct Es256Key(Arc<Inner>);

struct Inner {
    pair: EcdsaKeyPair,
    pkcs8: Box<[u8]>,
}

/// The reason for which a key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not a private key in PEM.
    #[error("the key is not PEM with a PRIVATE KEY section (PKCS#8)")]
    NotPem,
    /// A key of another kind.
    #[error("the key is not a P-256 key in PKCS#8 with its public key")]
    NotP256,
}

impl Es256Key {
    /// Reads a P-256 key in PEM, as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes it.
    ///
    /// # Errors
    /// If it is another kind of key, or no key.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let section = pem.split_once("-----BEGIN PRIVATE KEY-----").ok_or(KeyError::NotPem)?.1;
        let section = section.split_once("-----END PRIVATE KEY-----").ok_or(KeyError::NotPem)?.0;
        let text: String = section.split_ascii_whitespace().collect();
        Self::from_pkcs8(&STANDARD.decode(text).map_err(|_| KeyError::NotPem)?)
    }

    /// Reads a P-256 key in DER.
    ///
    /// # Errors
    /// If it is another kind of key, or no key.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new());
        Ok(Self(Arc::new(Inner { pair: pair.map_err(|_| KeyError::NotP256)?, pkcs8: der.into() })))
    }

    /// Generates a key.
    pub(crate) fn generate() -> Self {
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let der = der.expect("the system has randomness");
        Self::from_pkcs8(der.as_ref()).expect("a generated key is valid")
    }

    pub(crate) fn pkcs8(&self) -> &[u8] {
        &self.0.pkcs8
    }

    /// The public key (RFC 7517).
    pub(crate) fn public_jwk(&self) -> Value {
        // An uncompressed point: 0x04, then the coordinates.
        let (x, y) = self.0.pair.public_key().as_ref()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
    }

    /// A signed token (RFC 7515) with these members in addition to `alg` in its header.
    pub(crate) fn sign(&self, mut header: Value, claims: &Value) -> String {
        header["alg"] = "ES256".into();
        let [header, claims] = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.0.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.expect("the system has randomness");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl PartialEq for Es256Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.pkcs8 == other.0.pkcs8
    }
}

impl Eq for Es256Key {}

impl fmt::Debug for Es256Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Es256Key(..)")
    }
}

/// 32 random bytes in base64url: a state, a verifier or the id of a token. Its 43 characters are those that RFC 7636
/// allows in a verifier.
pub(crate) fn random_text() -> String {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The SHA-256 of a text in base64url, as PKCE and DPoP have it.
pub(crate) fn sha256_text(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_pem_and_its_signatures_verify() {
        let key = Es256Key::generate();
        let pem = format!(
            "text before\n-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(key.pkcs8())
        );
        let read = Es256Key::from_pem(&pem).unwrap();
        assert_eq!(read.public_jwk(), key.public_jwk());
        let token = read.sign(json!({"typ": "x"}), &json!({"iss": "me"}));
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let public = ring::signature::UnparsedPublicKey::new(
            &ring::signature::ECDSA_P256_SHA256_FIXED,
            key.0.pair.public_key().as_ref(),
        );
        public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        let header = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().0).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&header).unwrap(), json!({"typ": "x", "alg": "ES256"}));
        assert_eq!(format!("{key:?}"), "Es256Key(..)");
    }

    #[test]
    fn other_keys_are_rejected() {
        assert_eq!(Es256Key::from_pem("-----BEGIN RSA PRIVATE KEY-----"), Err(KeyError::NotPem));
        let short = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
        assert_eq!(Es256Key::from_pem(short), Err(KeyError::NotP256));
    }

    /// RFC 7636, appendix B.
    #[test]
    fn a_challenge_is_the_hash_of_its_verifier() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(sha256_text(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, two) = (random_text(), random_text());
        assert!(one != two && one.len() == 43);
    }
}
