/**
 * The types of schemas, and of the values that fit them.
 *
 * @module
 */

/** JSON, as it is sent. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

/** A JSON Schema of the dialect 2020-12. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly [keyword: string]: unknown;
}

/** One complaint of a schema library. */
export interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * A schema of a library that follows Standard Schema: zod, valibot, arktype and others.
 *
 * The specifications are <https://standardschema.dev> and its part on JSON Schema.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The answer of a schema library. */
export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** The forms of a schema: of a library, or JSON Schema itself. */
export type Schema = StandardSchema<any, any> | JsonSchema;

/** The type of a value after a schema has checked it: defaults are filled in, transformations are done. */
export type Checked<S> =
  S extends StandardSchema<any, infer Output> ? Output : S extends JsonSchema ? FromSchema<S> : never;

/** The type of a value before a schema has checked it. */
export type Unchecked<S> =
  S extends StandardSchema<infer Input, any> ? Input : S extends JsonSchema ? FromSchema<S> : never;

/** The type of the values that a JSON Schema allows, as far as types can express it. */
export type FromSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer Member)[] }
      ? FromSchema<Member>
      : S extends { readonly oneOf: readonly (infer Member)[] }
        ? FromSchema<Member>
        : S extends { readonly type: readonly (infer Type)[] }
          ? FromType<Type, S>
          : S extends { readonly type: infer Type }
            ? FromType<Type, S>
            : unknown;

type FromType<Type, S> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? S extends { readonly items: infer Items }
            ? FromSchema<Items>[]
            : unknown[]
          : Type extends "object"
            ? FromObject<S>
            : unknown;

type FromObject<S> = S extends { readonly properties: infer Properties }
  ? Simplify<
      {
        -readonly [Name in keyof Properties as Name extends RequiredOf<S> ? Name : never]: FromSchema<Properties[Name]>;
      } & {
        -readonly [Name in keyof Properties as Name extends RequiredOf<S> ? never : Name]?: FromSchema<
          Properties[Name]
        >;
      }
    >
  : Record<string, unknown>;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;
type Simplify<T> = { [Name in keyof T]: T[Name] } & {};
