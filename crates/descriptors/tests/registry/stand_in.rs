//! A registry in this process: both interfaces and both encodings over TLS, with faults that a test can order.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use prost::Message as _;
use prost_types::{FileDescriptorSet, field_descriptor_proto::Type};
use protomcp_descriptors::Host;
use protomcp_descriptors::registry::{Api, Codec, Endpoint, Resolver, ResolverBuilder};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) const TOKEN: &str = "secret-token-0123456789";

/// The registry's name in references.
pub(crate) fn host() -> Host {
    "registry.test".parse().expect("a host")
}

/// A fault in place of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    Status(u16, &'static str),
    RetryAfter(u16, u64),
    Html,
    Garbage,
    /// Bytes of an answer that ends too early.
    Truncated,
    /// No answer.
    Silence,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) authorization: Option<String>,
    pub(crate) if_none_match: Option<String>,
    pub(crate) body: Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct Orders {
    pub(crate) faults: VecDeque<Fault>,
    /// The fault of every request that has no other.
    pub(crate) always: Option<Fault>,
    pub(crate) wants_token: bool,
    /// The commit behind every label.
    pub(crate) commit: String,
    pub(crate) set: Vec<u8>,
    pub(crate) latency: Duration,
    pub(crate) seen: Vec<Seen>,
}

#[derive(Clone)]
pub(crate) struct StandIn {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) orders: Arc<Mutex<Orders>>,
}

impl StandIn {
    /// A registry whose module has one file with the message `acme.v1.Request` and one field of this name.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[&rustls::version::TLS13]).await
    }

    pub(crate) async fn start_with(versions: &[&'static rustls::SupportedProtocolVersion]) -> Self {
        let made = rcgen::generate_simple_self_signed(["registry.test".to_owned()]).expect("a certificate");
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("the provider knows them")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .expect("they belong together");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let commit = "0123456789abcdef0123456789abcdef".to_owned();
        let orders = Orders { commit, set: one_message("query"), ..Orders::default() };
        let orders = Arc::new(Mutex::new(orders));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&orders));
        let listener = Tls { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, certificate, orders }
    }

    pub(crate) fn order(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.orders.lock().expect("no test panics with the lock"));
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.orders.lock().expect("no test panics with the lock").seen.clone()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::new().address(self.address).authority(self.certificate.clone())
    }

    /// A resolver for this registry that waits for no pace.
    pub(crate) fn resolver(&self) -> ResolverBuilder {
        Resolver::builder().allow_at(host(), self.endpoint()).pace(1000, Duration::from_millis(1))
    }
}

/// A set with the message `acme.v1.Request` and one field.
pub(crate) fn one_message(field: &str) -> Vec<u8> {
    let field = prost_types::FieldDescriptorProto {
        name: Some(field.to_owned()),
        number: Some(1),
        r#type: Some(Type::String.into()),
        ..Default::default()
    };
    let message =
        prost_types::DescriptorProto { name: Some("Request".to_owned()), field: vec![field], ..Default::default() };
    let file = prost_types::FileDescriptorProto {
        name: Some("acme.proto".to_owned()),
        package: Some("acme.v1".to_owned()),
        syntax: Some("proto3".to_owned()),
        message_type: vec![message],
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

/// The requests that this registry understands, as a client writes them.
pub(crate) const APIS: [(Api, Codec); 4] = [
    (Api::Module, Codec::Binary),
    (Api::Module, Codec::Json),
    (Api::Reflect, Codec::Binary),
    (Api::Reflect, Codec::Json),
];

async fn answer(State(orders): State<Arc<Mutex<Orders>>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let seen = Seen {
        path: uri.path().to_owned(),
        content_type: text("content-type").unwrap_or_default(),
        authorization: text("authorization"),
        if_none_match: text("if-none-match"),
        body,
    };
    let (fault, latency, response) = {
        let mut orders = orders.lock().expect("no test panics with the lock");
        orders.seen.push(seen.clone());
        let fault = orders.faults.pop_front().or_else(|| orders.always.clone());
        (fault, orders.latency, sound(&orders, &seen))
    };
    tokio::time::sleep(latency).await;
    match fault {
        None => response,
        Some(Fault::Status(status, code)) => json(status, &format!(r#"{{"code":"{code}","message":"ordered"}}"#)),
        Some(Fault::RetryAfter(status, seconds)) => {
            let mut response = json(status, r#"{"code":"resource_exhausted"}"#);
            response.headers_mut().insert("retry-after", seconds.into());
            response
        }
        Some(Fault::Html) => reply(200, "text/html", "<p>hello</p>"),
        Some(Fault::Garbage) => reply(200, "application/proto", vec![0xff; 40]),
        Some(Fault::Truncated) => {
            let mut response = reply(200, "application/proto", "short");
            response.headers_mut().insert("content-length", 1000.into());
            response
        }
        Some(Fault::Silence) => std::future::pending().await,
    }
}

fn sound(orders: &Orders, seen: &Seen) -> Response {
    if orders.wants_token && seen.authorization.as_deref() != Some(&format!("Bearer {TOKEN}")) {
        return json(401, r#"{"code":"unauthenticated","message":"a token is needed"}"#);
    }
    let etag = format!("\"{}\"", orders.commit);
    if seen.if_none_match.as_ref() == Some(&etag) {
        return reply(304, "application/proto", "");
    }
    let is_reflect = seen.path == "/buf.reflect.v1beta1.FileDescriptorSetService/GetFileDescriptorSet";
    let is_module = seen.path == "/buf.registry.module.v1.FileDescriptorSetService/GetFileDescriptorSet";
    if !is_reflect && !is_module {
        return json(404, r#"{"code":"not_found"}"#);
    }
    let mut response = if seen.content_type == "application/json" {
        let set = protomcp_json(&orders.set);
        let commit = &orders.commit;
        let commit =
            if is_reflect { format!(r#""version":"{commit}""#) } else { format!(r#""commit":{{"id":"{commit}"}}"#) };
        json(200, &format!(r#"{{"fileDescriptorSet":{set},{commit}}}"#))
    } else {
        let mut body = length_delimited(1, &orders.set);
        let commit = orders.commit.as_bytes();
        body.extend(if is_reflect {
            length_delimited(2, commit)
        } else {
            length_delimited(2, &length_delimited(1, commit))
        });
        reply(200, "application/proto", body)
    };
    response.headers_mut().insert("etag", etag.parse().expect("a header"));
    response
}

/// A set in the JSON form of protobuf.
fn protomcp_json(set: &[u8]) -> String {
    let any = FileDescriptorSet::decode(set).expect("a set");
    let file = prost_reflect::ReflectMessage::transcode_to_dynamic(&any);
    let mut text = serde_json::Serializer::new(Vec::new());
    file.serialize_with_options(&mut text, &prost_reflect::SerializeOptions::new()).expect("it has a JSON form");
    String::from_utf8(text.into_inner()).expect("JSON is UTF-8")
}

pub(crate) fn length_delimited(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut field);
    prost::encoding::encode_varint(bytes.len() as u64, &mut field);
    field.extend_from_slice(bytes);
    field
}

fn json(status: u16, body: &str) -> Response {
    reply(status, "application/json", body.to_owned())
}

fn reply(status: u16, content_type: &str, body: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    Response::builder().status(status).header("content-type", content_type).body(body.into()).expect("a response")
}

struct Tls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((mut stream, address)) = self.listener.accept().await else { continue };
            let mut head = [0];
            // A client that refuses the certificate ends its connection only.
            if stream.peek(&mut head).await.is_err() {
                let _ = stream.shutdown().await;
                continue;
            }
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
