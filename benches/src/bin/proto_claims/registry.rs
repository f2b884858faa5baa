//! The time until a reference is a message: from the registry, from the disk, and from memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_descriptors::convert::{Converter, FieldLock};
use protomcp_descriptors::registry::{DiskCache, Endpoint, Resolver, ResolverBuilder};
use protomcp_descriptors::{MessageLimits, Protovalidate, SchemaRef, Validator as _};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::lists::{self, Outcome};

/// The resolutions of one reference that is in memory.
const CACHED: usize = if cfg!(test) { 200 } else { 20_000 };

/// The delays of the registry's answers, in milliseconds.
const DELAYS: &[u64] = if cfg!(test) { &[0] } else { &[0, 50, 100, 200] };

/// Times of resolutions.
pub(crate) struct Times {
    /// The median and the 99th percentile in memory, one task.
    pub(crate) cached: (Duration, Duration),
    /// The same with eight concurrent tasks.
    pub(crate) concurrent: (Duration, Duration),
    /// A look-up in memory together with the check of a message.
    pub(crate) with_check: (Duration, Duration),
    /// The first one after a start, with the schema on disk.
    pub(crate) disk: Duration,
    /// The first one ever, by the delay of the registry.
    pub(crate) first: Vec<(u64, Duration)>,
}

/// Measures all of them.
pub(crate) async fn measure() -> Outcome<Times> {
    let reference: SchemaRef = "registry.test/acme/tools/acme.tools.v1.SearchRequest:v1".parse()?;
    let mut first = Vec::new();
    for &delay in DELAYS {
        let registry = Registry::start(Duration::from_millis(delay)).await?;
        let mut times = Vec::new();
        for _ in 0..9 {
            let resolver = registry.resolver()?.build();
            let started = Instant::now();
            resolver.resolve(&reference).await?;
            times.push(started.elapsed());
        }
        first.push((delay, share(&mut times, 0.5)));
    }
    let registry = Registry::start(Duration::ZERO).await?;
    let folder = tempfile::tempdir()?;
    let kept = || {
        Ok::<_, Box<dyn std::error::Error>>(registry.resolver()?.disk(folder.path(), DiskCache::DEFAULT_LIMIT).build())
    };
    let resolver = Arc::new(kept()?);
    let message_type = resolver.resolve(&reference).await?;
    let mut disk = Vec::new();
    for _ in 0..9 {
        let again = kept()?;
        let started = Instant::now();
        again.resolve(&reference).await?;
        disk.push(started.elapsed());
    }
    let limits = MessageLimits::default();
    let encoded = message_type.parse_json(r#"{"query":"protobuf","max_results":10}"#, &limits)?.encode();
    let schema = resolver.schema(&(&reference).into()).await?;
    let validator = Protovalidate::new(&schema);
    validator.validate(&message_type.decode(&encoded, &limits)?)?;
    let mut checked = Vec::with_capacity(CACHED);
    for _ in 0..CACHED {
        let started = Instant::now();
        let found = resolver.resolve(&reference).await?;
        validator.validate(&found.decode(&encoded, &limits)?)?;
        checked.push(started.elapsed());
    }
    Ok(Times {
        cached: both(cached(&resolver, &reference).await?),
        concurrent: both(concurrent(&resolver, &reference).await?),
        with_check: both(checked),
        disk: share(&mut disk, 0.5),
        first,
    })
}

async fn cached(resolver: &Resolver, reference: &SchemaRef) -> Outcome<Vec<Duration>> {
    let mut times = Vec::with_capacity(CACHED);
    for _ in 0..CACHED {
        let started = Instant::now();
        resolver.resolve(reference).await?;
        times.push(started.elapsed());
    }
    Ok(times)
}

async fn concurrent(resolver: &Arc<Resolver>, reference: &SchemaRef) -> Outcome<Vec<Duration>> {
    let task = || {
        let (resolver, reference) = (Arc::clone(resolver), reference.clone());
        tokio::spawn(async move { cached(&resolver, &reference).await.map_err(|error| error.to_string()) })
    };
    let tasks: Vec<_> = (0..8).map(|_| task()).collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    Ok(times)
}

fn both(mut times: Vec<Duration>) -> (Duration, Duration) {
    (share(&mut times, 0.5), share(&mut times, 0.99))
}

fn share(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

/// A registry that answers every request with one descriptor set.
struct Registry {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
}

impl Registry {
    async fn start(delay: Duration) -> Outcome<Self> {
        let made = rcgen::generate_simple_self_signed(["registry.test".to_owned()])?;
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let answer = Arc::new(answer()?);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut received = Vec::new();
                    while read_request(&mut stream, &mut received).await {
                        tokio::time::sleep(delay).await;
                        if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Ok(Self { address, certificate })
    }

    fn resolver(&self) -> Outcome<ResolverBuilder> {
        let endpoint = Endpoint::new().address(self.address).authority(self.certificate.clone());
        Ok(Resolver::builder().allow_at("registry.test".parse()?, endpoint).pace(1000, Duration::from_millis(1)))
    }
}

/// Reads one request and drops it. False at the end of the connection.
async fn read_request(stream: &mut TlsStream<TcpStream>, received: &mut Vec<u8>) -> bool {
    loop {
        let text = String::from_utf8_lossy(received).to_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
            let whole = head.len() + 4 + length.unwrap_or_default();
            if received.len() >= whole {
                received.drain(..whole);
                return true;
            }
        }
        if !matches!(stream.read_buf(received).await, Ok(1..)) {
            return false;
        }
    }
}

/// The answer of the module interface: the set, and its commit.
fn answer() -> Outcome<Vec<u8>> {
    let converted =
        Converter::new("acme.tools.v1")?.convert("search", &lists::search(), None, &mut FieldLock::default())?;
    let commit = b"\x0a\x200123456789abcdef0123456789abcdef";
    let mut body = Vec::new();
    for (number, bytes) in [(1, converted.descriptor_set()), (2, commit.to_vec())] {
        prost::encoding::bytes::encode(number, &bytes, &mut body);
    }
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: {}\r\n\r\n", body.len());
    Ok([head.as_bytes(), &body].concat())
}
