//! Sends the result of a call, as a tool process does.

use bytes::Bytes;
use protomcp_envelope::{CallToolResponse, Envelope};

use crate::{
    encode::Encoder,
    error::EncodeError,
    frame::{Field, Raw},
};

/// The conditions under which a result leaves its envelope as a raw payload.
///
/// The bridge sets the environment variables `PROTOMCP_CHUNK_THRESHOLD` and `PROTOMCP_COMPRESS_THRESHOLD` for tool
/// processes (docs/envelope.md, "Start of a process"). Both default to 64 KiB and mean "strictly more than".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sideband {
    /// A `result_json` of more bytes than this is sent raw.
    pub raw_above: usize,
    /// A raw payload of more bytes than this is compressed.
    pub compress_above: usize,
    /// True if the bridge accepts a result after its payload (`raw-with-result` in its `BridgeInfo`). Otherwise only
    /// results that have nothing but `result_json` are sent raw, because the rest would be lost.
    pub with_result: bool,
}

impl Default for Sideband {
    fn default() -> Self {
        Self { raw_above: 64 << 10, compress_above: 64 << 10, with_result: false }
    }
}

impl Sideband {
    /// Reads the thresholds from environment variables, each with its default when absent or invalid:
    /// `PROTOMCP_CHUNK_THRESHOLD`, then `PROTOMCP_COMPRESS_THRESHOLD`.
    pub fn from_variables(chunk: Option<&str>, compress: Option<&str>) -> Self {
        let number = |text: Option<&str>| text?.trim().parse().ok();
        let default = Self::default();
        Self {
            raw_above: number(chunk).unwrap_or(default.raw_above),
            compress_above: number(compress).unwrap_or(default.compress_above),
            ..default
        }
    }
}

impl Encoder {
    /// Appends the answer to a call: as one envelope, or, where `sideband` allows it and nothing is lost, with its
    /// `result_json` as a raw payload.
    ///
    /// # Errors
    /// If a part is larger than the limits allow; `dst` is unchanged then.
    pub fn encode_result(
        &mut self,
        request_id: &str,
        mut result: CallToolResponse,
        sideband: &Sideband,
        dst: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let large = result.result_json.len() > sideband.raw_above;
        if !large || !(sideband.with_result || is_only_text(&result)) {
            return self.encode_envelope(&Envelope::new(request_id, result), dst);
        }
        let before = dst.len();
        let mut raw = Raw::new(request_id, Field::ResultJson, std::mem::take(&mut result.result_json));
        raw.header.followed_by_result = !is_only_text(&result);
        let raw = if raw.payload.len() > sideband.compress_above { raw.compress() } else { raw };
        self.encode_raw(&raw, dst)?;
        if raw.header.followed_by_result {
            self.encode_envelope(&Envelope::new(request_id, result), dst).inspect_err(|_| dst.truncate(before))?;
        }
        Ok(())
    }
}

/// True if a result has nothing but its `result_json`.
fn is_only_text(result: &CallToolResponse) -> bool {
    let CallToolResponse {
        result_json: _,
        is_error,
        enable_tools,
        disable_tools,
        error,
        structured_content_json,
        metadata_json,
    } = result;
    !is_error
        && enable_tools.is_empty()
        && disable_tools.is_empty()
        && error.is_none()
        && [structured_content_json, metadata_json].into_iter().all(Bytes::is_empty)
}
