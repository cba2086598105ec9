-- For `vim.lsp.enable('ullage')` on Neovim 0.11 and newer. The plugin itself starts the same client when it is first
-- used.
return require('ullage.client').config()
