//! Documents in JSON, as servers send them.

use serde::de::DeserializeOwned;

/// Reads a document in UTF-8, which may begin with a byte order mark (RFC 8259, section 8.1).
pub(crate) fn parse<T: DeserializeOwned>(document: &[u8]) -> serde_json::Result<T> {
    // Members that nothing reads are not checked by the scan of the bytes.
    let text = std::str::from_utf8(document).map_err(serde::de::Error::custom)?;
    serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Document {
        issuer: String,
    }

    #[test]
    fn a_document_is_in_utf_8_also_where_it_is_not_read() {
        let found: Document = parse(b"\xef\xbb\xbf{\"issuer\":\"a\",\"other\":\"\"}").unwrap();
        assert_eq!(found.issuer, "a");
        assert!(parse::<Document>(b"{\"issuer\":\"a\",\"other\":\"\xff\"}").is_err());
    }
}
