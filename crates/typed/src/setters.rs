//! The setters that resources, resource templates and prompts share.

/// Setters for the named members of a definition.
macro_rules! setters {
    ($($member:ident)+) => {
        $(crate::setters::setters!(@$member);)+
    };
    (@title) => {
        /// Sets the title, for people.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.definition.title = Some(title.into());
            self
        }
    };
    (@describe) => {
        /// Sets the description, for models.
        #[must_use]
        pub fn describe(mut self, text: impl Into<String>) -> Self {
            self.definition.description = Some(text.into());
            self
        }
    };
    (@mime_type) => {
        /// Sets the media type. Contents without a media type have it.
        #[must_use]
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.definition.mime_type = Some(mime_type.into());
            self
        }
    };
    (@annotations) => {
        /// Sets the audience, the priority and the time of the last change (MCP 2025-11-25, schema, `Annotations`).
        #[must_use]
        pub fn annotations(mut self, annotations: RawJson) -> Self {
            self.definition.annotations = Some(annotations);
            self
        }
    };
    (@icons) => {
        /// Sets the icons, an array (MCP 2025-11-25, schema, `Icon`).
        #[must_use]
        pub fn icons(mut self, icons: RawJson) -> Self {
            self.definition.icons = Some(icons);
            self
        }
    };
    (@meta) => {
        /// Sets `_meta`, an object for programs.
        #[must_use]
        pub fn meta(mut self, meta: RawJson) -> Self {
            self.definition.meta = Some(meta);
            self
        }
    };
}

pub(crate) use setters;
