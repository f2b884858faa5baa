//! The signature algorithms of tokens (RFC 7518).

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, RsaParameters,
};

/// A signature algorithm. Algorithms with a shared secret (`HS256` …) and `none` are not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are from RFC 7518")]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    /// Ed25519 (RFC 8037), under this name or its own (RFC 9864).
    EdDsa,
}

/// The key type of an algorithm, with the parameters that verify its signatures.
pub(crate) enum Shape {
    Rsa(&'static RsaParameters),
    Ec(&'static EcdsaVerificationAlgorithm),
    Ed25519,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// The algorithm with this name in `alg`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }

    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::Rs256 => Shape::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Shape::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Shape::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Shape::Rsa(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Shape::Rsa(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Shape::Rsa(&RSA_PSS_2048_8192_SHA512),
            Self::Es256 => Shape::Ec(&ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Shape::Ec(&ECDSA_P384_SHA384_FIXED),
            Self::EdDsa => Shape::Ed25519,
        }
    }
}
