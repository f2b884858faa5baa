//! The tools whose messages are loaded: as many as a budget of memory allows, those that were used last.
//!
//! Loaded descriptors and compiled rules take a thousand times the bytes of what they are made of.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OnceCell;

use crate::descriptors::codec::Codec;

/// The memory of all that is loaded, in bytes, as it is estimated.
const MAX_LOADED: usize = 256 << 20;

/// The memory of a schema with rules, whatever is in it: mostly the definitions of the rules.
const LEAST: usize = 3 << 20;

/// The memory for each byte of a descriptor set.
const PER_BYTE: usize = 128;

/// The loaded tools of one [`DescriptorSchemas`](crate::DescriptorSchemas).
#[derive(Debug, Clone, Default)]
pub(super) struct Loaded(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    uses: AtomicU64,
    slots: Mutex<Vec<Weak<Slot>>>,
}

/// The place of one tool.
#[derive(Debug)]
pub(super) struct Slot {
    weight: usize,
    used: AtomicU64,
    cell: Mutex<Cell>,
}

/// All who need a tool at the same time wait for one that loads it.
type Cell = Arc<OnceCell<Arc<Codec>>>;

impl Slot {
    /// The place of a tool with a descriptor set of this many bytes. Nothing is loaded yet.
    pub(super) fn new(bytes: usize) -> Arc<Self> {
        let weight = bytes.saturating_mul(PER_BYTE).saturating_add(LEAST);
        Arc::new(Self { weight, used: AtomicU64::new(0), cell: Mutex::default() })
    }

    fn cell(&self) -> MutexGuard<'_, Cell> {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loaded {
    /// The cell of a tool that is about to be used.
    pub(super) fn cell(&self, slot: &Slot) -> Cell {
        slot.used.store(self.0.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Arc::clone(&slot.cell())
    }

    /// Notes that a tool has been loaded, and unloads others if that is too much.
    pub(super) fn add(&self, slot: &Arc<Slot>) {
        let mut slots = self.0.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|other| other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, slot)));
        let mut others: Vec<_> = slots.iter().filter_map(Weak::upgrade).collect();
        others.sort_by_key(|other| std::cmp::Reverse(other.used.load(Ordering::Relaxed)));
        let mut weight = slot.weight;
        others.retain(|other| {
            let fits = weight.saturating_add(other.weight) <= MAX_LOADED;
            if fits {
                weight += other.weight;
            } else {
                *other.cell() = Cell::default();
            }
            fits
        });
        *slots = others.iter().chain([slot]).map(Arc::downgrade).collect();
    }
}

#[cfg(test)]
mod tests {
    use protomcp_descriptors::{Schema, SchemaLimits};

    use super::*;

    fn codec() -> Arc<Codec> {
        let set = b"\x0a\x17\x0a\x01a\x22\x0a\x0a\x08ARequestb\x06proto3";
        let schema = Schema::decode(set.as_slice(), &SchemaLimits::default()).unwrap();
        let input = schema.message("ARequest").unwrap();
        Arc::new(Codec::new(schema, input, None, None))
    }

    #[tokio::test]
    async fn the_tools_that_were_used_last_stay() {
        let (loaded, codec) = (Loaded::default(), codec());
        let load = async |slot: &Arc<Slot>| {
            loaded.cell(slot).get_or_init(|| async { Arc::clone(&codec) }).await;
            loaded.add(slot);
        };
        let slots: Vec<_> = (0..200).map(|_| Slot::new(100)).collect();
        let is_loaded = |slot: &Slot| slot.cell().get().is_some();
        for slot in &slots {
            load(slot).await;
            loaded.cell(&slots[0]);
        }
        let count = slots.iter().filter(|slot| is_loaded(slot)).count();
        assert_eq!(count, MAX_LOADED / Slot::new(100).weight);
        assert!(is_loaded(&slots[0]) && is_loaded(&slots[199]) && !is_loaded(&slots[1]));
        // A tool that is too large for all is loaded alone.
        let large = Slot::new(MAX_LOADED);
        load(&large).await;
        assert!(is_loaded(&large) && !slots.iter().any(|slot| is_loaded(slot)));
    }
}
