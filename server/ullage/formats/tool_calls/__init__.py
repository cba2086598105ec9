"""Tool calls in a model's stream, in any of three syntaxes, as the same fragments: native JSON, XML tags in the text,
caret fences in the text. Each takes the stream in pieces, cut anywhere, and gives what is certain so far."""
