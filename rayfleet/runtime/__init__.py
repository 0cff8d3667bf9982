"""What every controller needs and none should write twice. Knows nothing of Ray.

```
 API server --watch--> informer (cache, wire) --> queue --> controller: observe -> plan -> apply --> gate --> API server
                            \\__ reader __________________________/                      |
                             \\__ visibility: own writes must show first <_______________/
```
manager     puts it all together; lease decides who writes; health, metrics and logs tell
kind        what a controller hands in
backoffs    failures as observations; gone: names that are used up; events: what users are told
clock       time, handed in; collection and compact: what caches cost
"""
