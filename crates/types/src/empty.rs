//! `{}`, an empty object: parameters, a result, or a flag in capabilities.

use serde::{Deserialize, Serialize};

/// An empty object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Empty {}
