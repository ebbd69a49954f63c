"""vista-guard in the tools that people test and evaluate their agents with: a module a tool, over one grader."""
