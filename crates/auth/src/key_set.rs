//! The public keys of an issuer (RFC 7517), as far as they can check signatures.
//!
//! Keys for other purposes and keys of unknown kinds are ignored. Symmetric keys are among them: a program that can
//! check such a signature can also make one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ED25519, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use crate::algorithm::{Algorithm, Shape};
use crate::json;

/// The most keys of one issuer. Further keys are ignored, with a line in the log.
const MAX_KEYS: usize = 64;

/// The most keys that are tried for a token that does not name its key. Large issuers publish about ten. The bound
/// exists because each try costs time, and the request may come from anywhere.
const MAX_TRIES: usize = 16;

/// The keys by which signatures are checked.
#[derive(Debug, Clone, Default)]
pub struct KeySet(Vec<Key>);

/// The verdict of a key set about a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// One of the keys has made the signature.
    Good,
    /// The key that the token names has not made the signature.
    Wrong,
    /// None of the candidate keys has made the signature, but they have no ids: a newer one may have.
    NoneOfThese,
    /// There is no candidate key. A newer key set may have it.
    Unknown,
    /// There are more candidate keys than are tried.
    TooMany,
}

#[cfg(feature = "client")]
impl Verdict {
    /// True if a newer key set would return the same verdict.
    pub(crate) fn is_final(self) -> bool {
        match self {
            Self::Good | Self::Wrong | Self::TooMany => true,
            Self::NoneOfThese | Self::Unknown => false,
        }
    }
}

/// The reason for which a document is not a usable key set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// It is not JSON of the right shape.
    #[error("not a JSON Web Key Set: {0}")]
    Malformed(String),
    /// None of its keys can check a signature.
    #[error("none of its keys can check a signature (RSA of 2048 bits and more, P-256, P-384 and Ed25519 can)")]
    NoKeys,
}

#[derive(Debug, Clone)]
struct Key {
    id: Option<Box<str>>,
    /// The algorithm that the key is restricted to.
    only: Option<Algorithm>,
    material: Material,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a JSON Web Key Set.
    ///
    /// # Errors
    /// If the document is not a key set, or has no key that can check a signature.
    pub fn parse(document: &[u8]) -> Result<Self, KeySetError> {
        let document: Document = json::parse(document).map_err(|error| KeySetError::Malformed(error.to_string()))?;
        let mut known = document.keys.into_iter().filter_map(|key| Key::of(&serde_json::from_value(key).ok()?));
        let keys: Vec<_> = known.by_ref().take(MAX_KEYS).collect();
        if known.next().is_some() {
            tracing::warn!("the issuer has more keys than {MAX_KEYS}; only the first of them are used");
        }
        if keys.is_empty() { Err(KeySetError::NoKeys) } else { Ok(Self(keys)) }
    }

    /// The verdict of the keys about a signature. `id`: the key that the token names.
    pub(crate) fn verify(&self, algorithm: Algorithm, id: Option<&str>, message: &[u8], signature: &[u8]) -> Verdict {
        let is_named = |key: &&Key| id.is_some() && key.id.as_deref() == id;
        // A key without an id may be the one that the token names.
        let is_possible = |key: &&Key| !is_named(key) && (id.is_none() || key.id.is_none());
        let fitting = || self.0.iter().filter(|key| key.fits(algorithm));
        let mut verdict = Verdict::Unknown;
        for (tried, key) in fitting().filter(is_named).chain(fitting().filter(is_possible)).enumerate() {
            if tried >= MAX_TRIES {
                return Verdict::TooMany;
            }
            if key.material.verify(algorithm, message, signature) {
                return Verdict::Good;
            }
            verdict = if is_named(&key) || verdict == Verdict::Wrong { Verdict::Wrong } else { Verdict::NoneOfThese };
        }
        verdict
    }
}

impl Key {
    fn of(jwk: &Jwk) -> Option<Self> {
        let signs = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
            && jwk.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        // A key for an unknown algorithm fits no token.
        let only = match &jwk.alg {
            Some(name) => Some(Algorithm::parse(name)?),
            None => None,
        };
        let point = |length: usize| {
            let (x, y) = (decode(jwk.x.as_ref()?)?, decode(jwk.y.as_ref()?)?);
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                // The library that checks signatures accepts no smaller and no larger keys.
                let modulus = decode(jwk.n.as_ref()?)?;
                let start = modulus.iter().position(|byte| *byte != 0)?;
                let modulus = modulus[start..].to_vec();
                (256..=1024).contains(&modulus.len()).then_some(())?;
                Material::Rsa { modulus, exponent: decode(jwk.e.as_ref()?)? }
            }
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(decode(jwk.x.as_ref()?).filter(|point| point.len() == 32)?),
            _ => return None,
        };
        signs.then(|| Self { id: jwk.kid.as_deref().map(Box::from), only, material })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        let fits = match (&self.material, algorithm.shape()) {
            (Material::Rsa { .. }, Shape::Rsa(_)) | (Material::Ed25519(_), Shape::Ed25519) => true,
            (Material::P256(_), Shape::Ec(_)) => algorithm == Algorithm::Es256,
            (Material::P384(_), Shape::Ec(_)) => algorithm == Algorithm::Es384,
            (
                Material::Rsa { .. } | Material::P256(_) | Material::P384(_) | Material::Ed25519(_),
                Shape::Rsa(_) | Shape::Ec(_) | Shape::Ed25519,
            ) => false,
        };
        fits && self.only.is_none_or(|only| only == algorithm)
    }
}

impl Material {
    fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match (self, algorithm.shape()) {
            (Self::Rsa { modulus, exponent }, Shape::Rsa(parameters)) => {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(parameters, message, signature).is_ok()
            }
            (Self::P256(point) | Self::P384(point), Shape::Ec(curve)) => {
                UnparsedPublicKey::new(curve, point).verify(message, signature).is_ok()
            }
            (Self::Ed25519(point), Shape::Ed25519) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok()
            }
            // `Key::fits` has checked it.
            (
                Self::Rsa { .. } | Self::P256(_) | Self::P384(_) | Self::Ed25519(_),
                Shape::Rsa(_) | Shape::Ec(_) | Shape::Ed25519,
            ) => false,
        }
    }
}

fn decode(text: &String) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
