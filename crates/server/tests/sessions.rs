//! Conversations with a server, as transcripts: one file per topic. See `transcript` for how to read them.

#[cfg(feature = "tracing-layer")]
mod access_log;
mod admission;
mod ask;
mod batch;
mod budget;
mod cancel;
mod changes;
mod discover;
mod drain;
mod eras;
mod flood;
mod handler;
mod initialize;
mod lazy_tools;
mod lease_keeper;
#[cfg(feature = "contract-tests")]
mod lease_store;
mod limits;
mod listen;
mod listener_store;
#[cfg(feature = "tracing-layer")]
mod log_layer;
mod logging;
mod many;
mod meta;
mod mrtr;
#[cfg(feature = "contract-tests")]
mod notice_contract;
mod notices;
mod ping;
mod progress;
mod prompts;
mod replicas;
mod resources;
mod routes;
mod shapes;
mod stateless;
mod task_begin;
#[cfg(feature = "contract-tests")]
mod task_contract;
mod task_elsewhere;
mod task_extension;
mod task_store;
mod task_times;
mod tasks;
mod tools;
mod torture;
mod transcript;
mod watching;
