//! A logger that writes to the client.

use protomcp_server::LogLayer;
use protomcp_typed::{Registry, Tool};
use protomcp_types::Level;
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt;

use crate::host::with;

/// "An attribute with key `logger` is used to populate the `logger` field", the rest and the message are the data; the
/// levels between the standard ones have names.
#[test]
fn a_log_record_reaches_the_client_with_its_fields_and_level() {
    let work = async || {
        tracing::info!(target: "app", logger = "database", rows = 7, "slow query");
        tracing::debug!(target: "app", "too quiet for this host");
        tracing::info!(target: "app", level = Level::Notice.as_str(), "between info and warning");
        for level in [Level::Critical, Level::Alert, Level::Emergency] {
            tracing::error!(target: "app", level = level.as_str(), "worse than an error");
        }
        tracing::debug!(target: "app", level = Level::Debug.as_str(), "named, and too quiet");
    };
    let registry = Registry::builder("t", "1").tool(Tool::new("work", "d").handler(work)).build().unwrap();
    let subscriber = tracing_subscriber::registry().with(LogLayer::new(registry.sessions().clone()));
    let _logging = tracing::subscriber::set_default(subscriber);
    with(&registry, async |mut host| {
        host.ask("logging/setLevel", json!({"level": "info"})).await.unwrap();
        host.call("work", json!({})).await;
        let seen: Vec<Value> = host.told.iter().map(|told| told["params"].clone()).collect();
        let worse = |level: &str| json!({"level": level, "logger": "app", "data": {"message": "worse than an error"}});
        let expected = [
            json!({"level": "info", "logger": "database", "data": {"message": "slow query", "rows": 7}}),
            json!({"level": "notice", "logger": "app", "data": {"message": "between info and warning"}}),
            worse("critical"),
            worse("alert"),
            worse("emergency"),
        ];
        let mut seen = seen;
        for told in &mut seen {
            // The order of the fields is tracing's.
            assert_eq!(told["data"].get("level"), None);
        }
        assert_eq!(seen, expected);
    });
}
