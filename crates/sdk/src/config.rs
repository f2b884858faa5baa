//! The settings of a tool process.

use std::env;

use protomcp_codec::Limits;

use crate::handover::Handover;
use crate::middleware::Middleware;

/// The settings of a tool process.
///
/// ```
/// let config = protomcp_sdk::Config { max_concurrent_calls: 8, ..Default::default() };
/// assert_eq!(config.sideband_threshold, 65_536);
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// The most calls that run concurrently; the bridge queues the others. Default 1024, the most that a bridge counts.
    pub max_concurrent_calls: u32,
    /// Contents of results with more bytes are sent as they are, outside the envelope, without a copy. Default: the
    /// environment variable `PROTOMCP_CHUNK_THRESHOLD`, or 65,536.
    pub sideband_threshold: usize,
    /// The most questions to clients without an answer. One more fails immediately. Default 256.
    pub max_questions: usize,
    /// Middleware that the bridge runs around every call of this process, at most 256. Default: none.
    pub middleware: Vec<Middleware>,
    /// State that survives a reload. Default: none.
    pub handover: Option<Handover>,
    /// Folders of Agent Skills that the bridge serves in addition to the tools: at most 64, each with a path of 1 to 4,096
    /// bytes. A relative path is relative to the folder of the tool file, or to the directory of the Cargo project.
    /// Default: none.
    pub skill_folders: Vec<String>,
    /// Sizes of messages. The bridge has its own limits, and answers a call whose result exceeds them with an error
    /// that names the limit.
    pub limits: Limits,
}

impl Config {
    /// The variable with the threshold of the sideband.
    const THRESHOLD: &'static str = "PROTOMCP_CHUNK_THRESHOLD";
}

impl Default for Config {
    fn default() -> Self {
        let threshold = env::var(Self::THRESHOLD).ok().and_then(|text| text.parse().ok());
        Self {
            max_concurrent_calls: 1024,
            sideband_threshold: threshold.unwrap_or(65_536),
            max_questions: 256,
            middleware: Vec::new(),
            handover: None,
            skill_folders: Vec::new(),
            limits: Limits { max_payload: u64::MAX, ..Limits::default() },
        }
    }
}
