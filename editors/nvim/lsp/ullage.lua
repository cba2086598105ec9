-- For `vim.lsp.enable('ullage')` on Neovim 0.11 and newer. The plugin itself starts the same client at its first use.
return require('ullage.client').config()
