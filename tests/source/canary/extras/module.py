import os  
