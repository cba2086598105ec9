---@brief
---
--- $repository
---
--- $description
---
--- Install it with `uv tool install ullage` or `pipx install ullage`.

---@type vim.lsp.Config
return {
  cmd = { 'ullage', 'lsp' },
  -- The server has nothing to do with single files: a plugin asks it about conversations.
  filetypes = {},
  root_markers = { '.git' },
}
