//! The facts that a transport knows about a request in addition to its text.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The facts that a transport knows about a request in addition to its text, found by their type; see
/// `Context::extension` of the server. Over HTTP that is the head of the request, as
/// `http::request::Parts`. Cloning is cheap.
///
/// ```
/// use std::sync::Arc;
///
/// use protomcp_session::Extensions;
///
/// struct Tenant(&'static str);
///
/// let extensions = Extensions::default().with(Arc::new(Tenant("a")));
/// assert_eq!(extensions.find::<Tenant>().map(|tenant| tenant.0), Some("a"));
/// assert!(extensions.find::<String>().is_none());
/// ```
#[derive(Clone, Default)]
pub struct Extensions(Vec<Arc<dyn Any + Send + Sync>>);

impl Extensions {
    /// Adds a value. Of two values of one type the first one is found.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, known: Arc<T>) -> Self {
        self.0.push(known);
        self
    }

    /// The value of this type, if there is one.
    #[must_use]
    pub fn find<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|known| known.downcast_ref())
    }

    /// These values without the ones of this type.
    pub fn without<T: Any>(&self) -> Self {
        Self(self.0.iter().filter(|known| !known.is::<T>()).cloned().collect())
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("count", &self.0.len()).finish_non_exhaustive()
    }
}
