//! The client half over a network: the flow's driver, and the parts of a program that it uses.

mod browser;
mod exchange;
mod file_store;
mod flight;
mod keyring_store;
mod loopback;
mod oauth_client;
mod redirect_listener;
mod round_limit;
mod session;
mod session_credentials;
#[cfg(feature = "keyring")]
mod system_keyring;
mod token_store;
mod user_agent;

pub use browser::{Browser, SystemBrowser};
pub use file_store::FileTokenStore;
pub use keyring_store::{Keyring, KeyringTokenStore};
pub use loopback::{LoopbackUserAgent, SignInNotice};
pub use oauth_client::{OAuthClient, OAuthClientBuilder};
pub use redirect_listener::RedirectListener;
#[cfg(feature = "keyring")]
pub use system_keyring::SystemKeyring;
pub use token_store::{MemoryTokenStore, StoreError, StoreGuard, TokenStore};
pub use user_agent::{PendingRedirect, SubjectTokens, UserAgent};
