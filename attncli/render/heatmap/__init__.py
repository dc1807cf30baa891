"""Tables as blocks of colour or of characters: their levels, their colours, how large they are, and their lines."""
