//! A connection that receives the messages of a channel.
//!
//! Messages come between answers (RESP3), so the server can be asked if it is there. A message is received where it is
//! read from the connection: none waits in this process, and a receiver that is slow slows the connection down. A
//! server ends a connection when too many messages wait for it (`client-output-buffer-limit`).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection, SendError};
use redis::{ProtocolVersion, PushInfo, PushKind, RedisError, RedisResult, Value};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::link::{config, to_server};
use crate::url::StoreUrl;

/// The shortest time after which the server is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// A connection that receives messages until it is dropped.
pub(crate) struct Subscription {
    connection: MultiplexedConnection,
    /// The connection has ended.
    ended: Arc<Notify>,
    limit: Duration,
}

impl Subscription {
    /// Subscribes to a channel within this time. `receive` does not block.
    pub(crate) async fn new(
        url: &StoreUrl,
        limit: Duration,
        channel: &str,
        receive: impl Fn(&[u8]) + Send + Sync + 'static,
    ) -> RedisResult<Self> {
        let ended = Arc::new(Notify::new());
        let at_end = Arc::clone(&ended);
        let take = move |push: PushInfo| -> Result<(), SendError> {
            match (push.kind, push.data.as_slice()) {
                (PushKind::Message, [_, Value::BulkString(message)]) => receive(message),
                (PushKind::Disconnection, _) => at_end.notify_one(),
                _ => {}
            }
            Ok(())
        };
        let config = config(limit).set_push_sender(take);
        let subscribed = timeout(limit, async {
            let mut connection = to_server(url, limit, &config, ProtocolVersion::RESP3).await?;
            connection.subscribe(channel).await?;
            RedisResult::Ok(connection)
        });
        let subscribed = subscribed.await;
        let connection =
            subscribed.unwrap_or_else(|_| Err(RedisError::from(io::Error::from(io::ErrorKind::TimedOut))))?;
        Ok(Self { connection, ended, limit })
    }

    /// Waits for a while. Returns true if the server answers then, and false when the connection has ended.
    pub(crate) async fn lasts(&mut self) -> bool {
        tokio::select! {
            () = self.ended.notified() => return false,
            () = sleep(self.limit.max(PAUSE)) => {}
        }
        let ping = redis::cmd("PING");
        matches!(timeout(self.limit, self.connection.req_packed_command(&ping)).await, Ok(Ok(_)))
    }
}
