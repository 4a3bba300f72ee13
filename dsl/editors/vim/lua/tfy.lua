-- Starts 'tfy lsp' for .tfy files in Neovim, 0.7 and later: require('tfy').setup().
local tfy = {}

-- One server for each directory, so that buffers share it. vim.lsp.start came with 0.8.
local clients = {}

local function start(command, buffer)
    local root = vim.fn.getcwd()
    if vim.lsp.start then
        vim.lsp.start({ name = 'tfy', cmd = command, root_dir = root }, { bufnr = buffer })
        return
    end
    if not clients[root] or not vim.lsp.get_client_by_id(clients[root]) then
        clients[root] = vim.lsp.start_client({ name = 'tfy', cmd = command, root_dir = root })
    end
    if clients[root] then vim.lsp.buf_attach_client(buffer, clients[root]) end
end

-- options.cmd: the server's command; { 'tfy', 'lsp' } unless given.
function tfy.setup(options)
    local command = options and options.cmd or { 'tfy', 'lsp' }
    vim.api.nvim_create_autocmd('FileType', {
        pattern = 'tfy',
        callback = function(event) start(command, event.buf or tonumber(vim.fn.expand('<abuf>'))) end,
    })
    -- What "run test" above a test does: vim.lsp.codelens.refresh() shows it, vim.lsp.codelens.run() runs it.
    vim.lsp.commands['tfy.runTest'] = function(lens)
        local file, name = vim.uri_to_fname(lens.arguments[1]), lens.arguments[2]
        vim.cmd('botright split')
        vim.cmd('enew')
        vim.fn.termopen({ command[1], 'test', file, '--filter', name })
    end
end

return tfy
