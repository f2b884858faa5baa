//! The contract of [`ListenerStore`].

use futures_util::future::join_all;

use crate::records::listener_store::ListenerStore;

/// Checks that a store counts the requests of each resource on its own, and that every count is one step.
///
/// # Panics
/// When it does not.
pub async fn listener_store(store: &dyn ListenerStore) {
    let (a, b) = ("file:///a", "file:///b");
    assert!(!store.join(a).await && !store.contains(a).await, "no request listens yet");
    assert!(!store.remove(a).await, "none was the last");
    store.add(a).await;
    assert!(store.contains(a).await && !store.contains(b).await, "each resource has its count");
    assert!(store.join(a).await && !store.join(b).await);
    store.add(b).await;
    assert!(!store.remove(a).await, "one is left");
    assert!(store.remove(a).await, "this was the last");
    assert!(!store.contains(a).await && store.contains(b).await);
    assert!(store.remove(b).await);

    store.add(a).await;
    let joined = join_all((1..MANY).map(|_| store.join(a))).await;
    assert!(joined.into_iter().all(|has_joined| has_joined));
    let removed = join_all((0..MANY).map(|_| store.remove(a))).await;
    assert_eq!(removed.iter().filter(|was_last| **was_last).count(), 1, "exactly one of them is the last");
    assert!(!store.contains(a).await);
}

const MANY: usize = 100;
