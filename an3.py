exec(open('/tmp/an.py').read().split("# classify")[0])
import collections
c=collections.Counter(); tot=0
for k,sts in T.items():
    for st in sts:
        if any('run_shuffle' in s for s in st):
            tot+=1
            for s in set(st): c[s]+=1
print(tot/5,'ms in run_shuffle')
for s,v in c.most_common(50): print('%.1f ms'%(v/5),s)
