//! The tools as hosts see them.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

/// The hosts whose view of the tools the page can show. Without any, the page does not offer it.
#[derive(Clone, Default)]
pub struct HostViews {
    /// The id and the name of each host.
    hosts: Arc<[(String, String)]>,
    see: Option<Arc<See>>,
}

type See = dyn Fn(&str, &str) -> Result<Value, String> + Send + Sync;

impl HostViews {
    /// Hosts by their ids, with their names for people. `see` gets the id of a host and the array of the tools as JSON, and
    /// returns `{"tools", "report"}`: the tools with the names and schemas that the host sees, in the same order, and the
    /// report about them, or the reason why there is none. It may take time, and runs on a thread for that.
    pub fn new(
        hosts: impl IntoIterator<Item = (String, String)>,
        see: impl Fn(&str, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        Self { hosts: hosts.into_iter().collect(), see: Some(Arc::new(see)) }
    }

    /// The hosts, as an array of `{"id", "label"}`.
    pub(crate) fn list(&self) -> String {
        let hosts: Vec<_> = self.hosts.iter().map(|(id, label)| json!({"id": id, "label": label})).collect();
        Value::from(hosts).to_string()
    }

    /// The tools as a host sees them.
    pub(crate) async fn view(&self, host: String, tools: String) -> Result<String, String> {
        let see = self.see.clone().ok_or_else(|| "this page knows no hosts".to_owned())?;
        let viewed = tokio::task::spawn_blocking(move || see(&host, &tools)).await;
        viewed.map_err(|error| error.to_string())?.map(|view| view.to_string())
    }
}

impl fmt::Debug for HostViews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostViews").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_view_is_asked_for_by_the_id() {
        let hosts = [("a".to_owned(), "Host A".to_owned())];
        let views = HostViews::new(hosts, |host, tools| match host {
            "a" => Ok(json!({"tools": tools})),
            _ => Err("there is no such host".into()),
        });
        assert_eq!(views.list(), r#"[{"id":"a","label":"Host A"}]"#);
        assert_eq!(views.view("a".into(), "[]".into()).await, Ok(r#"{"tools":"[]"}"#.into()));
        assert_eq!(views.view("b".into(), "[]".into()).await, Err("there is no such host".into()));
        assert_eq!(HostViews::default().list(), "[]");
        assert!(HostViews::default().view("a".into(), "[]".into()).await.is_err());
    }
}
