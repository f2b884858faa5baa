//! Messages as bytes. Requests are decoded within the bounds of frames.

use std::marker::PhantomData;

use bytes::Buf;
use prost::Message;
use protomcp_bufmcp::{BareMessage, BinaryEndpoint};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

use crate::status;

/// Decodes messages of proto-mcp, and encodes any message.
pub(crate) struct Bounded<E, D> {
    endpoint: BinaryEndpoint,
    types: PhantomData<fn() -> (E, D)>,
}

impl<E, D> Bounded<E, D> {
    pub(crate) fn new(endpoint: &BinaryEndpoint) -> Self {
        Self { endpoint: endpoint.clone(), types: PhantomData }
    }
}

impl<E: Message + 'static, D: BareMessage> Codec for Bounded<E, D> {
    type Encode = E;
    type Decode = D;
    type Encoder = Plain<E>;
    type Decoder = Self;

    fn encoder(&mut self) -> Plain<E> {
        Plain(PhantomData)
    }

    fn decoder(&mut self) -> Self {
        Self::new(&self.endpoint)
    }
}

impl<E, D: BareMessage> Decoder for Bounded<E, D> {
    type Item = D;
    type Error = Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<D>, Status> {
        let config = self.endpoint.config();
        let body = src.copy_to_bytes(src.remaining());
        D::decode_bare(body, &config.frames, config.numbering).map(Some).map_err(|fault| status::of_fault(&fault))
    }
}

/// Any message, without its own bounds: for the small ones of gRPC's services.
pub(crate) struct Plain<T>(pub(crate) PhantomData<fn() -> T>);

impl<T: Message + 'static> Encoder for Plain<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, item: T, dst: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(dst).map_err(|error| Status::internal(error.to_string()))
    }
}

impl<T: Message + Default + 'static> Decoder for Plain<T> {
    type Item = T;
    type Error = Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<T>, Status> {
        T::decode(src).map(Some).map_err(|error| Status::invalid_argument(error.to_string()))
    }
}

/// Codec of [`Plain`] messages.
pub(crate) struct PlainCodec<E, D>(PhantomData<fn() -> (E, D)>);

impl<E, D> PlainCodec<E, D> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<E: Message + 'static, D: Message + Default + 'static> Codec for PlainCodec<E, D> {
    type Encode = E;
    type Decode = D;
    type Encoder = Plain<E>;
    type Decoder = Plain<D>;

    fn encoder(&mut self) -> Plain<E> {
        Plain(PhantomData)
    }

    fn decoder(&mut self) -> Plain<D> {
        Plain(PhantomData)
    }
}
