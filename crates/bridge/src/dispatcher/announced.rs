//! The announced features of the process in service, for decisions before the turn of a call.

use crate::dispatcher::{Dispatcher, Serving};
use crate::process::sdk::SdkFeatures;

impl Dispatcher {
    /// The features of the process in service; none while there is none.
    pub(crate) fn announced(&self) -> SdkFeatures {
        match &*self.serving.borrow() {
            Serving::This(process) => process.sdk(),
            Serving::Soon | Serving::Down(_) => SdkFeatures::default(),
        }
    }
}
