//! `{}`, which MCP uses as parameters, as a result and as a flag among capabilities.

use serde::{Deserialize, Serialize};

/// An empty object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Empty {}
