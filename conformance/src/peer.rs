//! The tool process end, scripted: a test that reads and writes envelopes itself.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use prost::Message as _;
use protomcp_envelope::{
    ActiveToolsResponse, CallToolRequest, CallToolResponse, Envelope, ListToolsRequest, Msg, PromptDefinition,
    PromptListResponse, RawHeader, ReloadResponse, ResourceDefinition, ResourceListResponse,
    ResourceTemplateDefinition, ResourceTemplateListResponse, ToolDefinition, ToolListResponse,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::stage::Hello;
use protomcp_testing::patience;

/// One tool process. Dropping it closes its socket and ends it with status 0.
#[derive(Debug)]
pub struct Peer {
    /// Its report to the stage.
    pub hello: Hello,
    /// Its resources, listed whenever the bridge asks; none at first.
    pub resources: Vec<ResourceDefinition>,
    /// The same for resource templates.
    pub templates: Vec<ResourceTemplateDefinition>,
    /// The same for prompts.
    pub prompts: Vec<PromptDefinition>,
    stream: UnixStream,
    inbox: Vec<u8>,
    /// Finished requests that are not calls: a late cancellation of one of them is ignored.
    aside: BTreeSet<String>,
    /// The number of frames of length zero so far.
    pub empty_frames: usize,
}

impl Peer {
    pub(crate) fn new(stream: UnixStream, hello: Hello) -> Self {
        Self {
            hello,
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            stream,
            inbox: Vec::new(),
            aside: BTreeSet::new(),
            empty_frames: 0,
        }
    }

    /// The next envelope. Frames of length zero are counted and skipped.
    ///
    /// # Panics
    ///
    /// If none arrives in time, or the bridge has closed the socket.
    pub fn receive(&mut self) -> Envelope {
        self.receive_within(patience()).expect("the bridge sent nothing in time")
    }

    /// The next envelope if one arrives within `time`.
    ///
    /// # Panics
    ///
    /// If the bridge has closed the socket, or sent a malformed envelope.
    pub fn receive_within(&mut self, time: Duration) -> Option<Envelope> {
        self.poll(time).expect("the bridge has closed the socket")
    }

    /// Waits until the bridge closes the socket, and returns all envelopes until then.
    ///
    /// # Panics
    ///
    /// If the bridge does not close it in time.
    pub fn until_closed(&mut self) -> Vec<Envelope> {
        let mut seen = Vec::new();
        while let Ok(envelope) = self.poll(patience()) {
            seen.push(envelope.expect("the bridge closes the socket in time"));
        }
        seen
    }

    fn poll(&mut self, time: Duration) -> Result<Option<Envelope>, ()> {
        let deadline = Instant::now() + time;
        loop {
            if let Some(envelope) = self.take() {
                return Ok(Some(envelope));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.stream.set_read_timeout(Some(left)).expect("a timeout above zero can be set");
            let mut buffer = [0; 64 * 1024];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(()),
                Ok(count) => self.inbox.extend_from_slice(&buffer[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(()),
                Err(error) => panic!("the control socket failed: {error}"),
            }
        }
    }

    /// Takes a whole frame out of the received bytes: four bytes of length, most significant first, and that many
    /// bytes.
    fn take(&mut self) -> Option<Envelope> {
        loop {
            let length = u32::from_be_bytes(self.inbox.first_chunk::<4>().copied()?) as usize;
            let frame = self.inbox.get(4..4 + length)?;
            let envelope = Envelope::decode(frame).expect("the bridge writes valid envelopes");
            self.inbox.drain(..4 + length);
            if length > 0 {
                return Some(envelope);
            }
            self.empty_frames += 1;
        }
    }

    /// Writes bytes verbatim.
    pub fn bytes(&mut self, bytes: &[u8]) {
        // If the bridge has closed the socket, the test notices when it reads.
        let _ = self.stream.write_all(bytes);
    }

    /// Writes one envelope as one frame.
    pub fn send(&mut self, id: &str, msg: impl Into<Msg>) {
        let frame = frame(&Envelope::new(id, msg));
        self.bytes(&frame);
    }

    /// Answers a call with this `result_json`.
    pub fn result(&mut self, id: &str, json: &str) {
        let result_json = json.to_owned().into_bytes().into();
        self.send(id, CallToolResponse { result_json, ..CallToolResponse::default() });
    }

    /// Writes a raw header and its payload in one piece (docs/envelope.md, "Raw payloads").
    pub fn raw(&mut self, header: RawHeader, payload: &[u8]) {
        let mut bytes = frame(&Envelope::new("", header));
        bytes.extend_from_slice(payload);
        self.bytes(&bytes);
    }

    /// Answers `list_tools` with these tools, and says that the handshake is complete.
    pub fn handshake(&mut self, tools: Vec<ToolDefinition>) {
        let id = self.listed(tools);
        assert!(!id.is_empty(), "list_tools carries an id");
        self.send("", ReloadResponse { success: true, error: String::new() });
    }

    /// Answers `list_tools` with these tools and nothing else; returns the request's id.
    pub fn listed(&mut self, tools: Vec<ToolDefinition>) -> String {
        let request = self.receive();
        assert!(
            matches!(request.msg, Some(Msg::ListTools(ListToolsRequest {}))),
            "list_tools comes first: {request:?}"
        );
        self.send(&request.request_id, ToolListResponse { tools });
        request.request_id
    }

    /// The next envelope that does not request one of the lists other than tools; those requests are answered.
    pub fn request(&mut self) -> Envelope {
        loop {
            let envelope = self.receive();
            if let Some(envelope) = self.answer_list(envelope) {
                return envelope;
            }
        }
    }

    /// Like [`Peer::request`], if one arrives within `time`.
    pub fn request_within(&mut self, time: Duration) -> Option<Envelope> {
        let deadline = Instant::now() + time;
        loop {
            let envelope = self.receive_within(deadline.saturating_duration_since(Instant::now()))?;
            if let Some(envelope) = self.answer_list(envelope) {
                return Some(envelope);
            }
        }
    }

    /// Answers an envelope that requests one of the lists other than tools; returns any other.
    pub fn answer_list(&mut self, envelope: Envelope) -> Option<Envelope> {
        let answer: Msg = match &envelope.msg {
            Some(Msg::ListResourcesRequest(_)) => ResourceListResponse { resources: self.resources.clone() }.into(),
            Some(Msg::ListResourceTemplatesRequest(_)) => {
                ResourceTemplateListResponse { templates: self.templates.clone() }.into()
            }
            Some(Msg::ListPromptsRequest(_)) => PromptListResponse { prompts: self.prompts.clone() }.into(),
            // The bridge may cancel one of these requests while its answer is on the way.
            Some(Msg::Cancel(cancel)) if self.aside.contains(&cancel.request_id) => return None,
            _ => return Some(envelope),
        };
        self.send(&envelope.request_id, answer);
        self.aside.insert(envelope.request_id);
        None
    }

    /// Answers the bridge's requests other than calls until `done`.
    ///
    /// # Panics
    ///
    /// If the bridge sends any other request, or it takes too long.
    pub fn settle(&mut self, done: impl Fn() -> bool) {
        let deadline = Instant::now() + patience();
        while !done() {
            assert!(Instant::now() < deadline, "the bridge did not settle in time");
            if let Some(envelope) = self.request_within(Duration::from_millis(2)) {
                panic!("no request was expected yet: {envelope:?}");
            }
        }
    }

    /// The next call: its id and its request.
    ///
    /// # Panics
    ///
    /// If something else comes first.
    pub fn call(&mut self) -> (String, CallToolRequest) {
        let envelope = self.request();
        match envelope.msg {
            Some(Msg::CallTool(call)) => (envelope.request_id, call),
            other => panic!("a call was expected, not {other:?}"),
        }
    }

    /// The names in the next envelope, which must be `active_tools`.
    ///
    /// # Panics
    ///
    /// If something else comes first.
    pub fn active_tools(&mut self) -> (String, Vec<String>) {
        let envelope = self.request();
        match envelope.msg {
            Some(Msg::ActiveTools(ActiveToolsResponse { tool_names })) => (envelope.request_id, tool_names),
            other => panic!("active_tools was expected, not {other:?}"),
        }
    }

    /// Sends the tool process a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.hello.pid).ok().and_then(Pid::from_raw).expect("a process id is positive");
        // It may have ended already; then there is nothing to do.
        let _ = kill_process(pid, signal);
    }
}

/// A tool that takes an object, for the list of a [`Peer`].
pub fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: format!("The tool {name}."),
        input_schema_json: r#"{"type":"object"}"#.into(),
        ..ToolDefinition::default()
    }
}

/// An envelope as the bytes of one frame, for a test that splits it.
///
/// # Panics
///
/// If it is larger than 4 GiB.
pub fn frame(envelope: &Envelope) -> Vec<u8> {
    let length = u32::try_from(envelope.encoded_len()).expect("a frame of a test is below 4 GiB");
    let mut bytes = length.to_be_bytes().to_vec();
    envelope.encode(&mut bytes).expect("a vector grows");
    bytes
}
