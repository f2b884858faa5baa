//! The contract of [`ParkedDirectory`].

use std::time::Duration;

use crate::records::node::NodeId;
use crate::records::parked_directory::{ParkedDirectory, ParkedRecord};

/// Checks that a directory finds each call in its process, until it is removed.
///
/// Not for [`LocalParked`](crate::LocalParked), which knows no other process.
///
/// # Panics
/// When it does not.
pub async fn parked_directory(directory: &dyn ParkedDirectory) {
    let call = |number, node| ParkedRecord { number, node: NodeId::new(node), ttl: Duration::from_secs(60) };
    assert_eq!(directory.find(1).await, None);
    directory.insert(&call(1, "a"));
    directory.insert(&call(u128::MAX, "b"));
    assert_eq!(directory.find(1).await, Some(NodeId::new("a")));
    assert_eq!(directory.find(1).await, Some(NodeId::new("a")), "finding it changes nothing");
    assert_eq!(directory.find(u128::MAX).await, Some(NodeId::new("b")));
    directory.remove(1);
    directory.remove(1);
    assert_eq!((directory.find(1).await, directory.find(2).await), (None, None));
    assert_eq!(directory.find(u128::MAX).await, Some(NodeId::new("b")));
}
