//! Many random lives of a link.

use proptest::collection::vec;
use proptest::prelude::*;

use super::operations::Operation;
use super::world::live;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_one_outcome_and_memory_is_bounded(bytes in vec(any::<[u8; 4]>(), 0..300)) {
        live(bytes.into_iter().map(Operation::from));
    }

    /// The same after a start that went well, where most of what matters happens.
    #[test]
    fn the_same_holds_for_a_process_in_service(bytes in vec(any::<[u8; 4]>(), 0..300)) {
        let started = [Operation::List, Operation::Done { success: true }, Operation::Carry { to_tool: false, bytes: 1000 }];
        live(started.into_iter().chain(bytes.into_iter().map(Operation::from)));
    }
}
