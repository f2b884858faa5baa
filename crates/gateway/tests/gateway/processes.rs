//! Log messages, and the clients of other processes, which may be other users.

use std::sync::{Arc, Mutex, Weak};

use protomcp_client::Mode;
use protomcp_gateway::Sharing;
use protomcp_server::{Audience, NodeId, NoticeBus, NoticeReceiver, SessionNotice, Stores};
use protomcp_testing::Seen;
use protomcp_types::{Level, RawJson};

use crate::stage::{Backend, client, connect_as, gateway, run};

/// The log messages that are sent to other processes.
#[derive(Debug, Default)]
struct Bus(Mutex<Vec<String>>);

impl NoticeBus for Bus {
    fn notify(&self, audience: Audience, notice: SessionNotice<'_>) {
        if let SessionNotice::Log { data, .. } = notice {
            self.0.lock().unwrap().push(format!("{audience:?} {data}"));
        }
    }

    fn subscribe(&self, _: Weak<dyn NoticeReceiver>) {}
}

#[test]
fn a_log_message_for_a_sole_user_is_for_this_user_elsewhere() {
    run(async {
        let (bus, backend, heard) = (Arc::new(Bus::default()), Backend::new(), Seen::default());
        let upstream = backend.upstream("server").mode(Mode::Stateful).sharing(Sharing::Shared);
        let stores = Stores::new(NodeId::new("a")).with_notices(Arc::clone(&bus) as Arc<dyn NoticeBus>);
        let gateway = gateway().upstream(upstream).stores(stores).open().await.unwrap();
        let listener = heard.clone();
        let listening = client().mode(Mode::Stateful).log_level(Level::Debug).on_log(move |message, _| {
            listener.push(message.data.to_string());
            std::future::ready(())
        });
        let _ann = connect_as(&gateway, &listening, "ann").await;
        backend.registry.sessions().log(Audience::Everyone, Level::Warning, None, &RawJson::text("of Ann"));
        assert_eq!(heard.wait().await, [r#""of Ann""#]);
        assert_eq!(*bus.0.lock().unwrap(), [r#"Owner(Principal("ann")) "of Ann""#]);
    });
}
