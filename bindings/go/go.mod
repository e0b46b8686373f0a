module bessemer

go 1.18
