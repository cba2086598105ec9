std = 'luajit'
self = false
max_line_length = 150
read_globals = { 'vim' }
globals = { 'vim.g', 'vim.o', 'vim.bo', 'vim.wo', 'vim.opt', 'vim.env', 'vim.lsp', 'vim.ui', 'vim.notify', 'vim.treesitter' }
files['tests'] = { globals = { 'MiniTest' }, read_globals = { 'MiniTest' } }
