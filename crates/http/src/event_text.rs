//! The text of server-sent events, read on its way to a client (HTML, 9.2.6).

/// Lines that this server has written: `id` and `data`, and those that are passed over.
#[derive(Debug, Default)]
pub(crate) struct EventText {
    /// The beginning of a line.
    line: Vec<u8>,
    id: Option<String>,
    data: Vec<u8>,
}

impl EventText {
    /// Takes a piece, and shows the id and the data of each event that ends in it. An event without data is none.
    pub(crate) fn take(&mut self, piece: &[u8], mut show: impl FnMut(Option<&str>, &[u8])) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.end_line(line.trim_ascii_end(), &mut show);
            }
        }
    }

    fn end_line(&mut self, line: &[u8], show: &mut impl FnMut(Option<&str>, &[u8])) {
        if line.is_empty() {
            let (id, data) = (self.id.take(), std::mem::take(&mut self.data));
            if !data.is_empty() {
                show(id.as_deref(), &data);
            }
        } else if let Some(id) = line.strip_prefix(b"id:") {
            self.id = Some(String::from_utf8_lossy(id.trim_ascii_start()).into_owned());
        } else if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.trim_ascii_start());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_in_pieces_of_any_length() {
        let text =
            b"id: 1\ndata: \n\n: ping\n\nevent: message\nid: 2\ndata: {\"a\":\ndata: 1}\n\ndata: {}\r\n\r\ndata: {";
        for length in 1..text.len() {
            let (mut events, mut seen) = (EventText::default(), Vec::new());
            for piece in text.chunks(length) {
                events.take(piece, |id, data| seen.push((id.map(str::to_owned), data.to_vec())));
            }
            let expected = [(Some("2".to_owned()), b"{\"a\":\n1}".to_vec()), (None, b"{}".to_vec())];
            assert_eq!(seen, expected, "{length}");
        }
    }
}
