//! The contract of [`NoticeBus`].

use std::sync::{Arc, Weak};
use std::time::Duration;

use protomcp_types::{Level, RawJson};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::records::notice_bus::{NoticeBus, NoticeReceiver};
use crate::records::notice_record::NoticeRecord;
use crate::records::session_notice::{Audience, SessionNotice};
use protomcp_fair::Owner;
use protomcp_session::{List, SessionId};

/// The time for a notice on its way, and for the connections of the buses.
const TIME: Duration = Duration::from_secs(10);

/// The pause between the notices that are sent until the first one arrives.
const RETRY: Duration = Duration::from_millis(50);

/// The resource of the notices that are sent until the first one arrives.
const FIRST: &str = "file:///first";

/// Checks that the buses of two processes carry notices to all receivers of the other process, in their order and as
/// they were sent, and that a sender does not get its own ones. The buses may need a while until they are connected:
/// the first notice is repeated until it arrives.
///
/// # Panics
/// When they do not, or when a notice needs longer than ten seconds.
pub async fn notice_bus(one: &dyn NoticeBus, other: &dyn NoticeBus) {
    let (mut at_one, mut at_other, mut at_other_too) = (Inbox::of(one), Inbox::of(other), Inbox::of(other));
    let gone: Weak<Recorder> = Weak::new();
    other.subscribe(gone);
    connect(one, &mut at_other).await;
    connect(other, &mut at_one).await;

    let ann = Audience::Owner(Owner::Principal("ann".into()));
    let (data, null) = (RawJson::parse(r#"{"disk": ["full"]}"#).expect("it is JSON"), RawJson::NULL);
    let sent = [
        (Audience::Everyone, SessionNotice::ListChanged(List::Tools)),
        (ann.clone(), SessionNotice::Log { level: Level::Error, logger: Some("disk"), data: &data }),
        (Audience::Everyone, SessionNotice::ResourceUpdated("file:///a")),
        (ann.clone(), SessionNotice::ListChanged(List::Tools)),
        (Audience::Everyone, SessionNotice::TaskChanged("7")),
        (Audience::Everyone, SessionNotice::TokenRefused("x")),
        (Audience::Everyone, SessionNotice::ListChanged(List::Prompts)),
        (ann, SessionNotice::Log { level: Level::Debug, logger: None, data: &null }),
        (Audience::Everyone, SessionNotice::ListChanged(List::Resources)),
    ];
    one.notify(Audience::Session(SessionId::new(1)), SessionNotice::ListChanged(List::Tools));
    for (audience, notice) in &sent {
        one.notify(audience.clone(), *notice);
    }
    for inbox in [&mut at_other, &mut at_other_too] {
        for (audience, notice) in &sent {
            assert_eq!(Some(inbox.next().await), NoticeRecord::of(audience, *notice), "in the order of the sender");
        }
    }
    // The first one after all of them: none has come back.
    let back = SessionNotice::TaskChanged("back");
    other.notify(Audience::Everyone, back);
    assert_eq!(Some(at_one.next().await), NoticeRecord::of(&Audience::Everyone, back), "no notice comes back");
}

/// Waits until a notice of this bus arrives.
async fn connect(from: &dyn NoticeBus, to: &mut Inbox) {
    let arrived = async {
        loop {
            from.notify(Audience::Everyone, SessionNotice::ResourceUpdated(FIRST));
            if timeout(RETRY, to.notices.recv()).await.is_ok() {
                return;
            }
        }
    };
    timeout(TIME, arrived).await.expect("a notice arrives");
}

/// The notices that one receiver of a bus gets.
struct Inbox {
    notices: UnboundedReceiver<NoticeRecord>,
    /// The bus does not keep it.
    _recorder: Arc<Recorder>,
}

struct Recorder(UnboundedSender<NoticeRecord>);

impl Inbox {
    fn of(bus: &dyn NoticeBus) -> Self {
        let (sender, notices) = unbounded_channel();
        let recorder = Arc::new(Recorder(sender));
        let receiver: Weak<Recorder> = Arc::downgrade(&recorder);
        bus.subscribe(receiver);
        Self { notices, _recorder: recorder }
    }

    /// The next notice after the first ones.
    async fn next(&mut self) -> NoticeRecord {
        let first = NoticeRecord::of(&Audience::Everyone, SessionNotice::ResourceUpdated(FIRST));
        loop {
            let next = timeout(TIME, self.notices.recv()).await.expect("a notice arrives").expect("its sender lives");
            if first.as_ref() != Some(&next) {
                return next;
            }
        }
    }
}

impl NoticeReceiver for Recorder {
    fn deliver(&self, audience: &Audience, notice: SessionNotice<'_>) {
        // A bus that is connected again says so, and not another process.
        if let Some(record) = NoticeRecord::of(audience, notice) {
            // The test may be over.
            drop(self.0.send(record));
        }
    }
}
