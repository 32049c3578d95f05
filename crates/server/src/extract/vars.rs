//! `Vars<T>`: the variables of a URI template, decoded into a type.
//!
//! A variable is text in the URI; numbers and booleans are read from it where the type wants them.

use std::borrow::Cow;
use std::future::{Future, ready};

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use switchboard_protocol::uri_template::VarValue;

use super::{FromCall, Rejection};
use crate::call::Call;
use crate::needs::Needs;
use crate::resource::not_found;

/// The variables of the template that the URI matched, decoded into `T`: a struct with a field a variable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars<T>(pub T);

impl<S: Sync, T: DeserializeOwned + Send> FromCall<S> for Vars<T> {
    fn describe(needs: &mut Needs) {
        needs.variables(std::any::type_name::<T>());
    }

    fn from_call(call: &Call, _state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        let pairs = call.vars.iter().map(|(name, values)| (name, Text(values)));
        let decoded = T::deserialize(MapDeserializer::<_, de::value::Error>::new(pairs));
        ready(decoded.map(Self).map_err(|fault| {
            // A URI that does not fit the variables' types is the URI of no resource.
            not_found(call.name(), format!("Resource not found: {fault}")).into()
        }))
    }
}

/// The value of one variable: a text, or several where the template explodes a list.
#[derive(Clone, Copy)]
struct Text<'a>(&'a VarValue);

impl<'a> Text<'a> {
    fn one(self) -> Cow<'a, str> {
        match self.0 {
            VarValue::Text(text) => Cow::Borrowed(text),
            VarValue::List(texts) => Cow::Owned(texts.join(",")),
            VarValue::Pairs(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(name, text)| format!("{name}={text}")).collect();
                Cow::Owned(pairs.join(","))
            }
        }
    }
}

impl<'de> IntoDeserializer<'de> for Text<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident $type:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            let text = self.one();
            match text.parse::<$type>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(de::Error::invalid_value(de::Unexpected::Str(&text), &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.one() {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let text: de::value::CowStrDeserializer<'_, Self::Error> = self.one().into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            VarValue::List(texts) => {
                visitor.visit_seq(SeqDeserializer::new(texts.iter().map(String::as_str)))
            }
            VarValue::Text(_) | VarValue::Pairs(_) => {
                visitor.visit_seq(SeqDeserializer::new(std::iter::once(self)))
            }
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            VarValue::Pairs(pairs) => {
                let pairs = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
                visitor.visit_map(MapDeserializer::new(pairs))
            }
            VarValue::Text(_) | VarValue::List(_) => self.deserialize_any(visitor),
        }
    }

    parsed! {
        deserialize_bool visit_bool bool,
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_i128 visit_i128 i128,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
        deserialize_u128 visit_u128 u128,
        deserialize_f32 visit_f32 f32,
        deserialize_f64 visit_f64 f64,
        deserialize_char visit_char char,
    }

    forward_to_deserialize_any! {
        str string bytes byte_buf unit unit_struct tuple tuple_struct struct identifier ignored_any
    }
}
