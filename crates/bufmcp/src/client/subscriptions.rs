//! The requests of the extension `subscriptions`.

use crate::client::driver::Command;
use crate::client::error::BinaryCallError;
use crate::client::handle::{BinaryClient, mismatch};
use crate::message::mcp_message::Payload;
use crate::message::{SubscribeRequest, UnsubscribeRequest};

impl BinaryClient {
    /// Subscribes to a resource, for all clones of this handle: [`BinaryClient::on_update`] hears of its changes until
    /// the end of the conversation. A server takes subscriptions if its capabilities have
    /// [`supports_subscribe`](crate::message::ResourceCapabilities::supports_subscribe).
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<(), BinaryCallError> {
        self.subscribed(Payload::SubscribeRequest(SubscribeRequest { uri: uri.into() })).await
    }

    /// Ends a subscription, for all clones of this handle. Without one it has no effect.
    ///
    /// # Errors
    /// If the server refuses or does not answer.
    pub async fn unsubscribe(&self, uri: impl Into<String>) -> Result<(), BinaryCallError> {
        self.subscribed(Payload::UnsubscribeRequest(UnsubscribeRequest { uri: uri.into() })).await
    }

    async fn subscribed(&self, request: Payload) -> Result<(), BinaryCallError> {
        match self.send(request, None).await? {
            Payload::SubscribeResponse(_) => Ok(()),
            _ => Err(mismatch()),
        }
    }

    /// Passes the URIs of changed resources to this function, in place of the one before. It runs in the task of the
    /// conversation, so it must not block. If it panics, the log has it.
    pub fn on_update(&self, on_update: impl FnMut(String) + Send + 'static) {
        self.command(Command::OnUpdate(Box::new(on_update)));
    }
}
