//! Facts about the process in service, for decisions before the turn of a call.

use crate::dispatcher::Dispatcher;
use crate::dispatcher::serving::Serving;
use crate::process::sdk::SdkFeatures;

impl Dispatcher {
    /// The features of the process in service; none while there is none.
    pub(crate) fn announced(&self) -> SdkFeatures {
        match &*self.serving.borrow() {
            Serving::This(process) => process.sdk(),
            Serving::Soon | Serving::Down(_) => SdkFeatures::default(),
        }
    }

    /// True if calls go to a process now, or wait for a slot of it.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().scheduler.is_open()
    }

    /// True if calls are refused.
    pub(crate) fn is_down(&self) -> bool {
        matches!(*self.serving.borrow(), Serving::Down(_))
    }
}
