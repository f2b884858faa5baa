//! `application/x-www-form-urlencoded`, in which OAuth sends parameters (RFC 6749, appendix B).

/// A value of a form, or a part of Basic credentials.
pub(crate) fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_forms_are_coded() {
        assert_eq!(encode("aZ0-._* +&=/~ü"), "aZ0-._*+%2B%26%3D%2F%7E%C3%BC");
    }
}
