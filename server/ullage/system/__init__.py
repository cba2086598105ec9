"""The machine around Ullage: programs that a person has us run, and the files of a project."""
