"""Library, persona and what was recalled in; a PromptRequest and the trace of it out."""
