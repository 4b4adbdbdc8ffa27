"""Operations of an HTTP interface, chosen by name from a local OpenAPI document, as acts."""
